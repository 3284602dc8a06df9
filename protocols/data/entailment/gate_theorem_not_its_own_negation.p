% Problem  : gate_theorem_not_its_own_negation
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ~(p<=>~p) )).
