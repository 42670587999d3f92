# expect: value [1,"ok"]
def encode(*) = 'lie'
def answer(*) = 'lie'
def call(*) = 'lie'
def write(*) = 'lie'
output = 'lie'
def f(n) = [1, 'ok']
