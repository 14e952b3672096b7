"""Applies a TextMate grammar, of the kind that editors/vscode has: match with captures, begin and end, include. Patterns are
in what Python's `re` and Oniguruma have in common."""
import json
import re


class Rule:
    def __init__(self, grammar, data):
        self.name = data.get('name', '')
        self.match = re.compile(data['match']) if 'match' in data else None
        self.begin = re.compile(data['begin']) if 'begin' in data else None
        self.end = re.compile(data['end']) if 'end' in data else None
        self.captures = {int(k): v['name'] for k, v in data.get('captures', {}).items()}
        self.inner = [grammar.rules(p) for p in data.get('patterns', [])] if self.begin else []
        self.inner = [rule for rules in self.inner for rule in rules]


class Grammar:
    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            self.data = json.load(f)
        self.scope = self.data['scopeName']
        self.top = [rule for p in self.data['patterns'] for rule in self.rules(p)]

    def rules(self, data):
        if 'include' in data:
            return self.rules(self.data['repository'][data['include'][1:]])
        if 'match' in data or 'begin' in data:
            return [Rule(self, data)]
        return [rule for p in data['patterns'] for rule in self.rules(p)]

    def scopes(self, text):
        """The innermost scope of each character."""
        found, open_rule, at = [''] * len(text), None, 0
        for line in text.split('\n'):
            open_rule = self.line(line, at, open_rule, found)
            at += len(line) + 1
        return found

    def line(self, line, at, rule, found):
        def paint(begin, end, scope):
            for i in range(begin, end):
                found[at + i] = scope

        position = 0
        while position <= len(line):
            choices = [(r.match or r.begin, r) for r in (rule.inner if rule else self.top)]
            best, best_rule = None, None
            if rule:
                best, best_rule = rule.end.search(line, position), rule
            for pattern, r in choices:
                m = pattern.search(line, position)
                if m and (m.end() > m.start() or r.begin) and (best is None or m.start() < best.start()):
                    best, best_rule = m, r
            if rule:
                paint(position, best.start() if best else len(line), rule.name)
            if best is None:
                break
            paint(best.start(), best.end(), best_rule.name)
            for number, scope in best_rule.captures.items():
                paint(best.start(number), best.end(number), scope)
            if best_rule is rule:
                rule = None
            elif best_rule.begin:
                rule = best_rule
            position = best.end()
        return rule
