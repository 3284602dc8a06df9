% Problem  : syj212_01
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( (~~a1 <=> a1) )).
