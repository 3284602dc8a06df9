% Problem  : gate_three_worlds_depth_two
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( q|(q=>(p|~p)) )).
