"""Main window around the features: layout, menus, notices, settings, end of the app."""
