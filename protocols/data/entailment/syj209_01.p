% Problem  : syj209_01
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( ((p1 | (~~p1 => f)) => f) )).
fof(con,conjecture,( f )).
