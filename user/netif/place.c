// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where the pins of an interface are: the one place that makes a directory's name of an interface's, and back.
 *
 * An interface's name says which one it is in one network namespace only, and a BPF file system may be seen
 * from many. So the directory says whose it is: a symbolic link in it names the network namespace by its cookie,
 * which no other one has until the host starts anew. DIR/IFNAME belongs to the first that takes it; the others
 * have DIR/IFNAME@network-namespace-COOKIE. What is longer than any interface's name cannot be taken for one.
 */
#include "netif/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MARK "network-namespace"
#define ELSEWHERE "@" MARK "-"

static bool ifname_valid(const char *name)
{
	size_t len = name ? strlen(name) : 0;

	return len > 0 && len < IFNAMSIZ && !strpbrk(name, "/: \t\n\v\f\r") && strcmp(name, ".") &&
	       strcmp(name, "..");
}

/*
 * A BPF file system takes no dot in a name, and VLANs have one by convention. A colon is what no interface's
 * name may have (dev_valid_name() in the kernel), so that nothing else needs to be written differently.
 */
static void exchange(char *name, char from, char to)
{
	for (; *name; name++)
		if (*name == from)
			*name = to;
}

static int namespace_cookie(uint64_t *cookie)
{
	socklen_t len = sizeof(*cookie);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &len))
		err = -errno;
	close(fd);
	return err;
}

/* Not by access(2), which asks what the user may do, not what the capabilities allow. */
static bool there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* Whose a directory is; 0: it does not say. */
static uint64_t marked(const char *dir)
{
	char path[XIW_PIN_PATH_MAX + 32], text[24];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" MARK, dir);
	n = readlink(path, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return strtoull(text, NULL, 10);
}

int xiw_pins_init(struct xiw_pins *pins, const char *pin_dir, const char *ifname)
{
	char own[XIW_PIN_PATH_MAX], name[IFNAMSIZ];
	uint64_t cookie, owner;
	int err;

	if (!ifname_valid(ifname))
		return -EINVAL;
	pin_dir = pin_dir ? pin_dir : XIW_PIN_DIR;
	if (!*pin_dir)
		return -EINVAL;
	if (strlen(pin_dir) > XIW_PIN_BASE_MAX)
		return -ENAMETOOLONG;
	err = namespace_cookie(&cookie);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s", ifname);
	exchange(name, '.', ':');
	snprintf(pins->base, sizeof(pins->base), "%s", pin_dir);
	snprintf(pins->dir, sizeof(pins->dir), "%s/%s", pin_dir, name);
	snprintf(own, sizeof(own), "%s/%s" ELSEWHERE "%llu", pin_dir, name,
		 (unsigned long long)cookie);
	owner = marked(pins->dir);
	pins->marked = owner == cookie;
	if ((!owner || owner == cookie) && !there(own))
		return 0;
	memcpy(pins->dir, own, sizeof(own));
	pins->marked = true;
	return 0;
}

bool xiw_pins_exist(const struct xiw_pins *pins)
{
	/* Who may not look finds out when he opens one. */
	return there(pins->dir) || (errno != ENOENT && errno != ENOTDIR);
}

int xiw_pins_mark(const struct xiw_pins *pins)
{
	char path[XIW_PIN_PATH_MAX + 32], text[24];
	uint64_t cookie;
	int err = namespace_cookie(&cookie);

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/" MARK, pins->dir);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)cookie);
	return symlink(text, path) ? -errno : 0;
}

bool xiw_pins_ifname(const char *entry, const char *pin_dir, char ifname[IFNAMSIZ])
{
	const char *end = strstr(entry, ELSEWHERE), *name;
	size_t len = end ? (size_t)(end - entry) : strlen(entry);
	struct xiw_pins pins;

	if (*entry == '.' || len >= IFNAMSIZ)
		return false;
	memcpy(ifname, entry, len);
	ifname[len] = '\0';
	exchange(ifname, ':', '.');
	if (xiw_pins_init(&pins, pin_dir, ifname))
		return false;
	/* Of another network namespace, if this one's interface would have another directory. */
	name = strrchr(pins.dir, '/') + 1;
	return !strcmp(name, entry);
}

int xiw_pins_path(const struct xiw_pins *pins, const char *name, char path[XIW_PIN_PATH_MAX])
{
	int n = snprintf(path, XIW_PIN_PATH_MAX, "%s/%s", pins->dir, name);

	return n > 0 && n < XIW_PIN_PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* ---- mount namespaces ------------------------------------------------------------------------------ */

static pid_t parent_of(pid_t pid)
{
	char path[64], line[512], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	/* "PID (NAME) STATE PARENT": the name may have brackets. */
	at = strrchr(line, ')');
	return at && strlen(at) > 4 ? (pid_t)atoi(at + 4) : 0;
}

/* The nearest process above this one that sees other mounts; 0: none, as far as one may look. */
static pid_t outside(bool parent_only)
{
	struct stat own, its;
	char path[64];

	if (stat("/proc/self/ns/mnt", &own))
		return 0;
	for (pid_t pid = getppid(); pid > 0; pid = parent_of(pid)) {
		snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
		if (stat(path, &its))
			return 0;
		if (its.st_ino != own.st_ino)
			return pid;
		if (parent_only)
			return 0;
	}
	return 0;
}

/* What of the path is there. */
static void existing(const char *path, char at[XIW_PIN_PATH_MAX])
{
	char *slash;

	snprintf(at, XIW_PIN_PATH_MAX, "%s", path);
	while (!there(at) && (slash = strrchr(at, '/')) && slash > at)
		*slash = '\0';
}

bool xiw_pins_on_bpffs(const char *path)
{
	char at[XIW_PIN_PATH_MAX];
	struct statfs fs;

	existing(path, at);
	return !statfs(at, &fs) && fs.f_type == BPF_FS_MAGIC;
}

static bool unseen_by(pid_t pid, const char *path)
{
	char at[XIW_PIN_PATH_MAX], theirs[XIW_PIN_PATH_MAX + 32];
	struct stat own, its;

	existing(path, at);
	if (!pid || *at != '/' || stat(at, &own))
		return false;
	snprintf(theirs, sizeof(theirs), "/proc/%d/root%s", (int)pid, at);
	if (stat(theirs, &its))
		return errno == ENOENT;
	return own.st_dev != its.st_dev;
}

bool xiw_pins_fleeting(const char *path, bool mounted)
{
	return unseen_by(outside(!mounted), path);
}

bool xiw_pins_hidden(const char *path)
{
	return !xiw_pins_on_bpffs(path) && unseen_by(outside(false), path);
}
