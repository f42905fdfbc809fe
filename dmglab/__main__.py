"""`python -m dmglab` is the program `dmglab`."""

from dmglab.programs import lab

if __name__ == "__main__":
    lab()
