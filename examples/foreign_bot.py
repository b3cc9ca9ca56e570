"""Another program's agent as a bot, in a process of its own. Try it:
lanista play beastybar --seats examples/foreign_bot.py,random --matches 50
"""

import sys
from pathlib import Path

from lanista.games.process_bots import ProcessBot


class Foreign(ProcessBot):
    name = "foreign"
    # Another environment's Python comes first, such as /home/me/their-project/venv/bin/python.
    command = (sys.executable, str(Path(__file__).with_name("foreign_agent.py")))
