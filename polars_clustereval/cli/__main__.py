"""Entry point of ``python -m polars_clustereval.cli``, the same as ``clustereval``."""

import sys

from . import main

sys.exit(main())
