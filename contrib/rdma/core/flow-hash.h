/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ECMP: a hash of the 5-tuple computed once a flow, and the choice each switch makes of it.
 *
 * Every switch mixes the flow's hash with its own seed before choosing. Choosing by the same bits
 * at every tier would send all flows of an upper switch through the same few of its ports (hash
 * polarization).
 *
 * The mixers are the published finalizers of MurmurHash3 (A. Appleby, public domain): bijections in
 * which every input bit flips every output bit with a probability close to 1/2. The answers are the
 * same on every machine.
 */
#ifndef RDMA_CORE_FLOW_HASH_H
#define RDMA_CORE_FLOW_HASH_H

#include <cstdint>

namespace rdma
{

/// What MurmurHash3's finalizers do, each with its own numbers: shift, multiply, shift, multiply
/// and shift.
template <class Word>
constexpr Word
MixWith(Word x, int shift, Word first, int middle, Word second)
{
    x = (x ^ x >> shift) * first;
    x = (x ^ x >> middle) * second;
    return x ^ x >> shift;
}

/// MurmurHash3's 32-bit finalizer.
constexpr uint32_t
Mix32(uint32_t x)
{
    return MixWith<uint32_t>(x, 16, 0x85ebca6bU, 13, 0xc2b2ae35U);
}

/// MurmurHash3's 64-bit finalizer.
constexpr uint64_t
Mix64(uint64_t x)
{
    return MixWith<uint64_t>(x, 33, 0xff51afd7ed558ccdULL, 33, 0xc4ceb9fe1a85ec53ULL);
}

/// What identifies a flow to a switch; addresses and ports in host byte order.
struct FlowTuple
{
    uint32_t source = 0;
    uint32_t destination = 0;
    uint16_t sourcePort = 0;
    uint16_t destinationPort = 4791; ///< RoCEv2 (IANA)
    uint8_t protocol = 17;           ///< UDP
};

/// 32 well-mixed bits of a 5-tuple; not symmetric in the two directions.
constexpr uint32_t
FlowHash(const FlowTuple& t)
{
    const uint64_t addresses = static_cast<uint64_t>(t.source) << 32 | t.destination;
    const uint32_t ports = static_cast<uint32_t>(t.sourcePort) << 16 | t.destinationPort;
    const uint64_t rest = static_cast<uint64_t>(t.protocol) << 32 | ports;
    const uint64_t mixed = Mix64(addresses + 0x9e3779b97f4a7c15ULL) ^ rest;
    return static_cast<uint32_t>(Mix64(mixed) >> 32);
}

/// The UDP source port of a queue pair: 14 bits of entropy from the two queue pair numbers, in the
/// range 0xC000 to 0xFFFF that RoCEv2 recommends (InfiniBand Architecture Specification vol. 1,
/// annex A17), so that ECMP spreads the queue pairs between the same two hosts.
constexpr uint16_t
RoceSourcePort(uint32_t localQueuePair, uint32_t remoteQueuePair)
{
    const uint64_t pair = static_cast<uint64_t>(localQueuePair) << 32 | remoteQueuePair;
    return static_cast<uint16_t>(0xC000 | (Mix64(pair + 0x9e3779b97f4a7c15ULL) >> 50));
}

/// The same of a connection that has a name rather than numbers (of a job, a communicator, its
/// ranks, a lane): its path then does not depend on what else was opened before it. \param name
/// 64 well-mixed bits \param passive of the end that did not open it
constexpr uint16_t
RoceSourcePortOfName(uint64_t name, bool passive)
{
    return static_cast<uint16_t>(
        0xC000 | (Mix64(name + (passive ? 0x3c6ef372fe94f82aULL : 0x9e3779b97f4a7c15ULL)) >> 50));
}

/// Which of `n` equal next hops a switch with this seed takes: in [0, n); n must not be 0. A
/// product with n instead of a division: a few nanoseconds, and no next hop is likelier than
/// another by more than 2^-32.
constexpr uint32_t
EcmpPick(uint32_t flowHash, uint32_t switchSeed, uint32_t n)
{
    const uint32_t mixed = Mix32(flowHash ^ (switchSeed * 0x9e3779b9U + 0x7f4a7c15U));
    return static_cast<uint32_t>(static_cast<uint64_t>(mixed) * n >> 32);
}

/// The same of a switch that rotates its hash right by so many bits (0 to 31) before it picks, so
/// that switches of one seed, whose hashes agree, pick by other bits of them. As the Switch
/// Abstraction Interface has it (opencomputeproject/SAI, inc/saiswitch.h:
/// SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_OFFSET).
constexpr uint32_t
RotatedPick(uint32_t flowHash, uint32_t switchSeed, uint32_t n, uint32_t bits)
{
    const uint32_t mixed = Mix32(flowHash ^ (switchSeed * 0x9e3779b9U + 0x7f4a7c15U));
    const uint32_t rotated = mixed >> bits | mixed << ((32 - bits) & 31);
    return static_cast<uint32_t>(static_cast<uint64_t>(rotated) * n >> 32);
}

/// The same so that a next hop that goes moves only the flows it had, and one that comes takes its
/// share of all others' and moves nothing else: the next hop whose own mix with the flow is the
/// highest. What resilient next-hop groups of switches are for (Linux,
/// Documentation/networking/nexthop-group-resilient.rst, which tells why a division of the hash's
/// range, as above and in RFC 2992, moves others too); they remember the flows of each bucket of a
/// table, this needs no memory, but n mixes a packet. \param hops numbers of n next hops, of which
/// each keeps its own \return index of one of them
template <class Number>
constexpr uint32_t
ResilientPick(uint32_t flowHash, uint32_t switchSeed, const Number* hops, uint32_t n)
{
    const uint32_t mixed = Mix32(flowHash ^ (switchSeed * 0x9e3779b9U + 0x7f4a7c15U));
    uint32_t best = 0;
    uint64_t highest = 0;
    for (uint32_t i = 0; i < n; ++i)
    {
        const uint64_t own = Mix64(static_cast<uint64_t>(mixed) << 32 | (hops[i] + 1U));
        if (own > highest)
        {
            highest = own;
            best = i;
        }
    }
    return best;
}

} // namespace rdma

#endif // RDMA_CORE_FLOW_HASH_H
