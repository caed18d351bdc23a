"""``python -m polars_clustereval.cli`` is ``clustereval``."""

import sys

from . import main

sys.exit(main())
