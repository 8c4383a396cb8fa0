"""How a program is timed by a bench of ours: it says its name, and answers each line of JSON, a setting, with the seconds that it took.

    {"peer": "PyTorch 2.11"}
    {"seconds": 0.0171}        or  {"error": "CUDA out of memory"}
"""

import json
import sys


def serve(name, seconds):
    """Answers settings from stdin until it ends; `seconds(setting)` times one. Anything that others print goes to stderr."""
    answers, sys.stdout = sys.stdout, sys.stderr

    def say(answer):
        print(json.dumps(answer), file=answers, flush=True)

    say({"peer": name})
    for line in sys.stdin:
        try:
            say({"seconds": seconds(json.loads(line))})
        except Exception as error:  # the bench shows it in the row
            say({"error": f"{type(error).__name__}: {error}".splitlines()[0]})
