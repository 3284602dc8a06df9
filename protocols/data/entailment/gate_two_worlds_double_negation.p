% Problem  : gate_two_worlds_double_negation
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( ~~p => p )).
