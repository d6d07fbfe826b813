"""The file that the Flex Template's launcher runs. The code is in the installed package."""

import sys

from beamscore.pipelines.runners.dataflow_template import main

sys.exit(main())
