% Problem  : gate_three_worlds_linearity
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( (p=>q)|(q=>p) )).
