# expect: value "held"
def f(n)
  datagram = ->(address) { -> { Socket.pair(:UNIX, :DGRAM)[0].send('x', 0, Socket.sockaddr_un(address)) } }
  tried(
    'tcp' => -> { Socket.tcp('127.0.0.1', @PORT@, connect_timeout: 0.2) },
    'tcp6' => -> { Socket.tcp('::1', @PORT@, connect_timeout: 0.2) },
    'udp' => -> { UDPSocket.new.send('x', 0, '127.0.0.1', @UDP@) },
    'raw' => -> { Socket.new(:INET, :RAW, 1) },
    'listen' => -> { TCPServer.new('127.0.0.1', 0) },
    'unix' => -> { UNIXSocket.new('@FOLDER@/stream') },
    'hidden' => -> { UNIXSocket.new("\0@HIDDEN@") },
    'datagram' => datagram.('@FOLDER@/datagrams'),
    'log' => datagram.('/dev/log')
  )
end
