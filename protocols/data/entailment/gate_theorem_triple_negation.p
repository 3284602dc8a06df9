% Problem  : gate_theorem_triple_negation
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ~~~p=>~p )).
