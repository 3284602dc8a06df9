"""Entailment in two propositional logics: problems, engines that decide them, families with known answers."""
