"""``python -m jitgrad``: the command."""

import sys

from jitgrad.cli import main

sys.exit(main())
