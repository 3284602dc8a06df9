% Problem  : gate_two_worlds_excluded_middle
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( p | ~p )).
