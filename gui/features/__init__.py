"""Features of the app, one package each; `gui.app` lists them."""
