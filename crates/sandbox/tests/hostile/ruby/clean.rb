# expect: value [1,null,{"y":"a"}]
def f(n) = [n + 1, nil, :a]
