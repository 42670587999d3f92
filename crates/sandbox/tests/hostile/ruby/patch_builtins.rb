# expect: own
# then: own
# timeout: 500
def f(n)
  Array.class_eval do
    def map(*) = ['lie']
    def each(*) = self
    def join(*) = '"lie"'
    def <<(other) = raise('no')
  end
  Hash.class_eval { def each_pair(*) = self }
  String.class_eval do
    def +(other) = 'V"lie"'
    def gsub(*) = 'lie'
    def b = self
    def empty? = false
    def unpack1(*) = 'zz'
  end
  Kernel.class_eval do
    def puts(*) = 'lie'
    def format(*) = 'lie'
    def raise(*) = 'lie'
  end
  Proc.class_eval { def call(*) = 'lie' }
  IO.class_eval { def syswrite(*) = 0 }
  { 'a' => [1] }
end
