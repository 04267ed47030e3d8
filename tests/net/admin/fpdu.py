# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""FPDUs with CRC and without markers (RFC 5044 section 4), made of nothing but the RFC."""
import struct

table = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    table.append(n)


def fpdu(ulpdu):
    body = struct.pack(">H", len(ulpdu)) + ulpdu
    body += bytes(-len(body) % 4)
    crc = 0xFFFFFFFF
    for octet in body:
        crc = crc >> 8 ^ table[(crc ^ octet) & 255]
    return body + struct.pack("<I", crc ^ 0xFFFFFFFF)
