% Problem  : gate_theorem_not_different_from_itself
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ~(p<~>p) )).
