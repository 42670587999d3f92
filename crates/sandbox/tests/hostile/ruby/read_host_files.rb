# expect: value "held"
def f(n)
  paths = %w[/etc/passwd /etc/shadow /etc/hostname /proc/self/environ /proc/self/maps /proc/1/environ
             /proc/@PID@/environ /proc/@PID@/mem @FOLDER@/secret /root/.profile /var/log/dpkg.log /dev/mem /dev/kmsg
             /dev/tty /dev/kvm]
  tried(paths.to_h { |path| [path, -> { File.open(path, 'rb').close }] })
end
