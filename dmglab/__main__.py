"""Entry point of `python -m dmglab`, the same as the program `dmglab`."""

from dmglab.programs import lab

if __name__ == "__main__":
    lab()
