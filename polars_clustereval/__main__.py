"""Entry point of ``python -m polars_clustereval``, the same as ``clustereval``."""

import sys

from .cli import main

sys.exit(main())
