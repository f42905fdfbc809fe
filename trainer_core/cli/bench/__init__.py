"""`dmglab bench`: what is measured by a command of its own. `command` says which file does it."""
