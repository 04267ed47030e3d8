// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The pins of an interface. This is the one place that makes a directory's name from an interface's, and back.
 *
 * An interface's name is unique in one network namespace only, and a BPF file system may be seen from many. So the
 * directory says to which network namespace it belongs: a symbolic link in it holds the namespace's cookie, which no
 * other namespace gets until the host restarts. DIR/IFNAME belongs to the first namespace that takes it; the others
 * have DIR/IFNAME@network-namespace-COOKIE, which is longer than any interface's name.
 */
#include "netif/pins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "netif/interface.h"

#define MARK "network-namespace"
#define ELSEWHERE "@" MARK "-"

static bool ifname_valid(const char *name)
{
	size_t len = name ? strlen(name) : 0;

	return len > 0 && len < IFNAMSIZ && !strpbrk(name, "/: \t\n\v\f\r") && strcmp(name, ".") &&
	       strcmp(name, "..");
}

/*
 * A BPF file system accepts no dot in a name, but the names of VLANs have one by convention. No interface's name
 * contains a colon (dev_valid_name() in the kernel), so a colon stands for the dot.
 */
static void exchange(char *name, char from, char to)
{
	for (; *name; name++)
		if (*name == from)
			*name = to;
}

/* Gives 0 as the cookie where Linux is older than 5.14, which has none, and cannot run the programs either. */
static int namespace_cookie(uint64_t *cookie)
{
	socklen_t len = sizeof(*cookie);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	*cookie = 0;
	if (fd < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &len) && errno != ENOPROTOOPT)
		err = -errno;
	close(fd);
	return err;
}

/* This obeys the process's capabilities, while access(2) obeys the user's permissions. */
static bool there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* The cookie of the network namespace that a directory belongs to; 0: the directory does not say. */
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

int xiw_pins_of(struct xiw_pins *pins, const char *pin_dir, const char *name, char own[IF_NAMESIZE])
{
	if (!ifname_valid(name))
		return -EINVAL;
	if (xiw_if_name(name, own) != own)
		snprintf(own, IF_NAMESIZE, "%s", name);
	return xiw_pins_init(pins, pin_dir, own);
}

static int said(int err, const char *name, struct xiw_line why)
{
	if (!err)
		return 0;
	if (err != -EINVAL && err != -ENAMETOOLONG)
		return xiw_explain(why, err, "cannot look for the pins of %s: %s", name,
				   strerror(-err));
	return xiw_explain(why, -EINVAL,
			   "'%s' cannot be an interface, or the pin directory's name is too "
			   "long",
			   name ? name : "");
}

int xiw_pins_find(struct xiw_pins *pins, const char *pin_dir, const char *name,
		  char own[IF_NAMESIZE], struct xiw_line why)
{
	return said(xiw_pins_of(pins, pin_dir, name, own), name, why);
}

int xiw_pins_again(struct xiw_pins *pins, const char *pin_dir, const char *ifname,
		   struct xiw_line why)
{
	return said(xiw_pins_init(pins, pin_dir, ifname), ifname, why);
}

bool xiw_pins_exist(const struct xiw_pins *pins)
{
	/* A process that may not look here learns so when it opens a pin. */
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
	/* The entry is another network namespace's if this one's interface would have another directory. */
	name = strrchr(pins.dir, '/') + 1;
	return !strcmp(name, entry);
}

int xiw_pins_path(const char *dir, const char *name, char path[XIW_PIN_PATH_MAX])
{
	int n = snprintf(path, XIW_PIN_PATH_MAX, "%s/%s", dir, name);

	return n > 0 && n < XIW_PIN_PATH_MAX ? 0 : -ENAMETOOLONG;
}

int xiw_pins_note(const char *dir, const char *name, uint32_t value)
{
	char path[XIW_PIN_PATH_MAX], text[16];
	int err = xiw_pins_path(dir, name, path);

	snprintf(text, sizeof(text), "%u", value);
	return err ? err : symlink(text, path) ? -errno : 0;
}

uint32_t xiw_pins_noted(const char *dir, const char *name)
{
	char path[XIW_PIN_PATH_MAX], text[16];
	ssize_t n = xiw_pins_path(dir, name, path) ? -1 : readlink(path, text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return (uint32_t)strtoul(text, NULL, 10);
}

int xiw_pins_open(const char *dir, const char *name, bool writable)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = writable ? 0 : BPF_F_RDONLY);
	char path[XIW_PIN_PATH_MAX];
	int fd, err = xiw_pins_path(dir, name, path);

	if (err)
		return err;
	fd = bpf_obj_get_opts(path, &opts);
	return fd == -EACCES ? -EPERM : fd;
}

static int check_map(int fd, uint32_t value_size, uint32_t entries, struct bpf_map_info *info)
{
	uint32_t len = sizeof(*info);
	int err;

	*info = (struct bpf_map_info){};
	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, info, &len);
	if (!err && (info->value_size != value_size || (entries && info->max_entries != entries)))
		err = -ESTALE;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int xiw_pins_check_map(int fd, uint32_t value_size, uint32_t entries)
{
	struct bpf_map_info info;

	return check_map(fd, value_size, entries, &info);
}

uint32_t xiw_flows_round(uint32_t nflows)
{
	uint32_t n = 64;

	while (n < nflows)
		n *= 2;
	return n;
}

int xiw_pins_check_flows(int fd, uint32_t *nflows)
{
	struct bpf_map_info info;

	fd = check_map(fd, sizeof(struct xiw_flow), 0, &info);
	if (fd < 0)
		return fd;
	*nflows = info.max_entries;
	if (*nflows <= XIW_MAX_FLOWS && *nflows == xiw_flows_round(*nflows))
		return fd;
	close(fd);
	return -ESTALE;
}

int xiw_pins_open_prog(const char *dir, const char *name, uint32_t *id)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	int err, fd = xiw_pins_open(dir, name, false);

	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (err) {
		close(fd);
		return err;
	}
	*id = info.id;
	return fd;
}

int xiw_pins_prog_id(const char *dir, const char *name, uint32_t *id)
{
	int fd = xiw_pins_open_prog(dir, name, id);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int xiw_pins_remove(const struct xiw_pins *pins)
{
	struct dirent *entry;
	int err = 0, fd = open(pins->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir) {
		err = errno == EACCES ? -EPERM : -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		/* In this very directory, wherever its name may lead by now. */
		if (unlinkat(fd, entry->d_name, 0))
			err = errno == EACCES ? -EPERM : -errno;
	}
	closedir(dir);
	if (rmdir(pins->dir) && !err)
		err = errno == EACCES ? -EPERM : -errno;
	rmdir(pins->base);
	return err;
}
