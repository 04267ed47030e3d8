#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A client of `xiwarp perf` that breaks its protocol, made of nothing but the RFCs: MPA with CRC and without markers.

perf_hostile.py ADDRESS PORT: prints what the server let pass that it should have refused, and then ends with 1.
"""
import socket
import struct
import sys

from fpdu import fpdu

WRITE, SEND, READ = range(3)
START, READY, GO, STOP, DATA = range(1, 6)
LATENCY, BOTH = 1, 2
IMMEDIATE, SEND_SE = 8, 5  # opcodes of RDMAP; a Send is 3, an RDMA Write 0, a Read Request 1


def tagged(stag, to, octets):
    return fpdu(struct.pack(">BBIQ", 0xC1, 0x40, stag, to) + octets)


def request(op=WRITE, flags=0, depth=4, size=4096, connections=1, stag=7, magic=b"xiwperf\1"):
    return magic + struct.pack(">BBHIIII", op, flags, 0, depth, size, connections, stag)


class Client:
    """One connection. `msn` counts the messages to queue 0."""

    def __init__(self, data, room=0):
        self.s = socket.socket()
        self.s.settimeout(10)
        if room:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.s.connect((sys.argv[1], int(sys.argv[2])))
        self.msn = [0, 0]
        self.s.sendall(b"MPA ID Req Frame" + struct.pack(">BBH", 0x40, 1, len(data)) + data)
        reply = self.read(20)
        self.rejected = len(reply) == 20 and bool(reply[16] & 0x20)
        self.data = self.read(struct.unpack(">H", reply[18:])[0]) if len(reply) == 20 else b""
        self.stag = struct.unpack(">I", self.data[8:])[0] if len(self.data) == 12 else 0

    def read(self, n):
        got = b""
        while len(got) < n:
            more = self.s.recv(n - len(got))
            if not more:
                break
            got += more
        return got

    def send(self, octets, opcode=3, queue=0):
        self.msn[queue] += 1
        head = struct.pack(">BBIIII", 0x41, 0x40 | opcode, 0, queue, self.msn[queue], 0)
        self.s.sendall(fpdu(head + octets))

    def word(self, word, number=0):
        self.send(struct.pack(">BBHI", word, 0, 0, number), IMMEDIATE)

    def ended(self):
        """Does the server end the connection?"""
        try:
            while self.s.recv(65536):
                pass
            return True
        except ConnectionError:
            return True
        except socket.timeout:
            return False


failures = []


def refused(name, data):
    c = Client(data)
    if not c.rejected or not c.data:
        failures.append(f"the request '{name}' was accepted: {c.data}")
    c.s.close()


def ends(name, play, data=request(), room=0):
    """The server ends the connection when the client has played its part."""
    c = Client(data, room)
    if c.rejected:
        failures.append(f"'{name}' was rejected: {c.data}")
        return
    try:
        play(c)
    except ConnectionError:
        pass
    if not c.ended():
        failures.append(f"the connection of '{name}' goes on")
    c.s.close()


def running(c, size=4096):
    c.word(START, size)
    c.word(GO)


def flood(c, one):
    """More than the buffers of both sockets hold, in a row: none of the answers is read."""
    running(c, 64)
    for _ in range(200000):
        one(c)


def read_request(c, size, stag, to):
    c.send(struct.pack(">IQIIQ", 1, 0, size, stag, to), 1, 1)


refused("nothing", b"")
refused("text", b"x" * 28)
refused("long", b"\xff" * 512)
refused("one more octet", request() + b"\0")
refused("version", request(magic=b"xiwperf\2"))
refused("op", request(op=3))
refused("flags", request(flags=4))
refused("latency in both directions", request(flags=LATENCY | BOTH, depth=1))
refused("depth of latency", request(flags=LATENCY, depth=2))
for depth in 0, 1025, 0xFFFFFFFF:
    refused(f"depth {depth}", request(depth=depth))
for size in 0, (1 << 30) + 1, 0xFFFFFFFF:
    refused(f"size {size}", request(size=size))
for n in 0, 4097, 0xFFFFFFFF:
    refused(f"{n} connections", request(connections=n))
refused("memory", request(op=READ, size=1 << 30))

ends("data before the start", lambda c: c.send(bytes(4096)), request(op=SEND))
ends("a Send where Writes were agreed on", lambda c: (running(c), c.send(b"x")))
ends("a Send that is too short", lambda c: (running(c), c.send(b"x")), request(op=SEND))
ends("a Send that is too long", lambda c: (running(c, 64), c.send(bytes(1400))),
     request(op=SEND, size=64))
ends("a report", lambda c: (running(c), c.send(bytes(208), SEND_SE)), request(op=SEND))
ends("no size", lambda c: c.word(START, 0))
ends("a larger size", lambda c: c.word(START, 4097))
ends("the largest size", lambda c: c.word(START, 0xFFFFFFFF))
ends("go without a start", lambda c: c.word(GO))
ends("stop without go", lambda c: (c.word(START, 1), c.word(STOP)))
ends("two starts", lambda c: (c.word(START, 1), c.word(START, 1)))
ends("two goes", lambda c: (running(c), c.word(GO)))
ends("the server's word", lambda c: c.word(READY))
ends("an unknown word", lambda c: c.word(255, 1))
ends("data by a word", lambda c: (running(c), c.word(DATA)))
ends("a Write behind the memory", lambda c: c.s.sendall(tagged(c.stag, 4 * 4096, b"x")))
ends("a Write to nowhere", lambda c: c.s.sendall(tagged(c.stag ^ 1, 0, b"x")))
ends("a Write where Reads were agreed on", lambda c: c.s.sendall(tagged(c.stag, 0, b"x")),
     request(op=READ))
ends("a Read where Writes were agreed on", lambda c: read_request(c, 64, c.stag, 0))
ends("a Read behind the memory", lambda c: read_request(c, 4096, c.stag, 4 * 4096 - 1),
     request(op=READ))
ends("questions without end", lambda c: flood(c, lambda c: c.send(bytes(64))),
     request(op=SEND, flags=LATENCY, depth=1, size=64), room=4096)

# Whatever becomes of these: the server goes on.
for op in WRITE, SEND, READ:
    c = Client(request(op=op, flags=BOTH, depth=1024, size=65536, stag=0xDEADBEEF))
    running(c, 65536)
    c.s.close()
for _ in range(50):
    Client(request(op=READ, size=1 << 20, depth=64)).s.close()

print("\n".join(failures))
sys.exit(bool(failures))
