"""What runs in VERL's own interpreter, this folder alone on its path: nothing else of ours."""
