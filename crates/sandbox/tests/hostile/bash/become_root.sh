# expect: text held
for program in /usr/bin/su /usr/bin/sudo /usr/bin/mount /usr/bin/newgrp /usr/bin/passwd /usr/bin/unshare; do
  [[ -x $program ]] || continue
  case $program in
    */unshare) arguments='-r id -u' ;;
    */su|*/sudo) arguments='-c id' ;;
    *) arguments='' ;;
  esac
  found=$($program $arguments </dev/null 2>/dev/null)
  if [[ $found == 0 || $found == *uid=0* ]]; then echo "got through: $program"; exit 0; fi
done
mount -t tmpfs x /tmp 2>/dev/null && echo "got through: mount" && exit 0
echo held
