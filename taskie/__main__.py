"""`python3 -m taskie`, the same words as the console script."""

import sys

from taskie.cli import main

sys.exit(main())
