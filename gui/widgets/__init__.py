"""Small widgets of our own that several docks use."""
