#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server that stops to answer, made of nothing but the RFCs: MPA with CRC and without markers.

serve_hostile.py ADDRESS PORT HOW: for `xiwarp put` it grants half of each file and no more (half), all and never tells a
result (mute), or tells one of another length (less). For `xiwarp perf -l` it has no answer to a Send (perf).
"""
import socket
import struct
import sys

from fpdu import fpdu

OFFER, GRANT, DONE, RESULT = range(1, 5)
START, READY, GO, STOP = range(1, 5)
SEND, SEND_SE, IMMEDIATE = 3, 5, 8  # opcodes of RDMAP


class Peer:
    def __init__(self, s, data):
        self.s, self.msn = s, 0
        request = self.read(20)
        enhanced = self.read(struct.unpack(">H", request[18:])[0])[:4] if request[16] & 0x10 else b""
        data = enhanced + data
        s.sendall(b"MPA ID Rep Frame" + request[16:18] + struct.pack(">H", len(data)) + data)

    def read(self, n):
        got = b""
        while len(got) < n:
            more = self.s.recv(n - len(got))
            if not more:
                raise EOFError
            got += more
        return got

    def ulpdu(self):
        length = self.read(2)
        n = struct.unpack(">H", length)[0]
        return self.read(n + -(n + 2) % 4 + 4)[:n]

    def send(self, octets, opcode=SEND):
        self.msn += 1
        head = struct.pack(">BBIIII", 0x41, 0x40 | opcode, 0, 0, self.msn, 0)
        self.s.sendall(fpdu(head + octets))


def serve(p, how):
    while True:
        u = p.ulpdu()
        if u[0] & 0x80:
            continue
        if u[18] == OFFER:
            size = struct.unpack(">Q", u[26:34])[0]
            p.send(struct.pack(">BBHIQQ", GRANT, 2, 0, 1, 0, size // 2 if how == "half" else size))
        elif how == "less":
            p.send(struct.pack(">BBHQ", RESULT, 2, 0, 0))


def serve_perf(p):
    while True:
        u = p.ulpdu()
        if u[1] & 15 == IMMEDIATE and u[18] == START:
            p.send(struct.pack(">BBHI", READY, 0, 0, 0), IMMEDIATE)
        elif u[1] & 15 == IMMEDIATE and u[18] == STOP:
            p.send(bytes(208), SEND_SE)


perf = sys.argv[3] == "perf"
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    try:
        if perf:
            serve_perf(Peer(listener.accept()[0], b"xiwperf\1" + struct.pack(">I", 7)))
        else:
            serve(Peer(listener.accept()[0], b""), sys.argv[3])
    except (EOFError, ConnectionError):
        pass
