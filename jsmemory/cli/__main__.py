"""``python -m jsmemory.cli``, where the console script is not on the path."""

from jsmemory.cli import main

if __name__ == "__main__":
    main()
