"""The app's features, a folder each. `gui.app` lists them."""
