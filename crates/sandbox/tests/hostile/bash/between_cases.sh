# expect: text clean
# then: text clean
# expect C: own
# then C: own
# Each case leaves what it can in the warm cell, and looks for what the other left.
found=''
[[ $(umask) == 0022 && $PWD == / && $$ == 2 && $PPID == 1 ]] || found+=" process($(umask) $PWD $$ $PPID)"
[[ $(ulimit -n) == 128 ]] || found+=" limit"
[[ $(hostname 2>/dev/null) =~ ^(sandbox|)$ ]] || found+=" hostname"
[[ -z $MARK ]] || found+=" variable"
for pid in {3..9} {20..60}; do [[ $pid == $$ ]] || ! kill -0 $pid 2>/dev/null || found+=" process-$pid"; done
for folder in / /tmp /dev /dev/shm /var/tmp /etc /usr/bin; do
  [[ -e $folder/hostile-mark || -L $folder/hostile-mark ]] && found+=" $folder"
  : 2>/dev/null > $folder/hostile-mark
  ln -s x $folder/hostile-mark 2>/dev/null
done
read -r first < /submission
[[ $first == '' || $first == \#* ]] || found+=" program"
(echo 'echo forged' > /submission) 2>/dev/null && found+=" rewritten"
chmod 777 /submission 2>/dev/null && found+=" mode"
rm -f /submission 2>/dev/null && found+=" removed"
export MARK=1
umask 0
ulimit -n 20
trap '' TERM HUP INT CHLD
cd /dev
(setsid sleep 600 &)
sleep 600 &
disown -a
[[ -z $found ]] && echo clean || echo "found$found"
