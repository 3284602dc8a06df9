% Problem  : syj203_19
% Status   : Theorem
% Status (intuit.) : Theorem
fof(axiom1,axiom,( (((p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & (p11 & (p12 & (p13 & (p14 & (p15 & (p16 & (p17 & (p18 & p19)))))))))))))))))) | ((p1 => f) | ((p2 => f) | ((p3 => f) | ((p4 => f) | ((p5 => f) | ((p6 => f) | ((p7 => f) | ((p8 => f) | ((p9 => f) | ((p10 => f) | ((p11 => f) | ((p12 => f) | ((p13 => f) | ((p14 => f) | ((p15 => f) | ((p16 => f) | ((p17 => f) | ((p18 => f) | (p19 => f)))))))))))))))))))) => f) )).
fof(con,conjecture,( f )).
