% Problem  : gate_three_worlds_weak_excluded_middle
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( ~p | ~~p )).
