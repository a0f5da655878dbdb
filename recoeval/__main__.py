"""`python -m recoeval`, where the command is not on the path."""

from recoeval.cli import main

if __name__ == "__main__":
    main()
