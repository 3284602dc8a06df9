% Problem  : gate_theorem_not_not_excluded_middle
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ~~(p|~p) )).
