"""Entry point of ``python -m polars_clustereval``, which runs the command ``clustereval``."""

import sys

from .cli import main

sys.exit(main())
