"""Runs checks, and prints each as a line of JSON."""

import json
import traceback


class Checks:
    """A list of functions, each of which is one check."""

    def __init__(self):
        self.checks = []

    def __call__(self, function):
        self.checks.append(function)
        return function

    def run(self, *arguments):
        """Runs all of them in order, whatever fails."""
        for check in self.checks:
            outcome = {"check": check.__name__}
            try:
                check(*arguments)
            except Exception as problem:
                where = traceback.extract_tb(problem.__traceback__)[-1]
                outcome["failed"] = f"{problem!r:.600} at {where.name}:{where.lineno}"
            print(json.dumps(outcome), flush=True)
