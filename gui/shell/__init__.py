"""The window around the features: layout, menus, banners, settings, the end of the app."""
