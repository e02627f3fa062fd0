/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PCAP_HELPER_H
#define RDMA_PCAP_HELPER_H

#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-port.h"

#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Captures what ports send and receive as pcap files that Wireshark reads: Ethernet link type,
 * nanosecond time stamps, one file a port.
 *
 * What is real in a capture: sizes, opcodes, queue pair numbers, PSNs, AckReq, DMA length,
 * immediate data, AETH (syndrome, MSN), ECN, priority (DSCP = 8 x priority), UDP source port (the
 * one that ECMP hashes), ICRC, PFC frames (class-enable vector, quanta). What is made up:
 *
 *     IPv4 address  10.x.y.z, the last 24 bits being endpoint number + 1
 *     MAC address   02:00 and the IPv4 address; end to end, as a switched fabric keeps it. PFC
 *                   frames and ordinary packets bear the addresses of the ports.
 *     RETH          virtual address 0, key 0
 *     payload       byte i of a packet is i mod 256
 *     TTL           64 everywhere (a routed fabric would count down)
 *
 * Time stamps: a frame sent, when its first bit starts; a frame received, when it is handed over,
 * that is after its last bit and, in a switch, after the pipeline. Frames dropped for their FCS are
 * not captured, nor are frames dropped by a switch missing on its ingress side.
 *
 * Files are complete after Simulator::Destroy. They are written in whole records, so that a run
 * which is killed leaves valid files too; each lacks at most its last BUFFER_BYTES.
 */
class RdmaPcapHelper
{
  public:
    /// Most that waits in memory, per port.
    static constexpr size_t BUFFER_BYTES = 65536;

    /// \param fabric must outlive the simulation
    explicit RdmaPcapHelper(const RdmaFabric& fabric);

    /// \param bytes kept of each frame at most (the length field of its record has the true
    /// length); default: all
    void SetSnapLength(uint32_t bytes);

    /**
     * Ports by name, one selector or several separated by commas:
     *
     *     all        every port
     *     node       all ports of a node
     *     node:2     its port 2
     *     a->b, a-b  the port (or parallel ports) of node a on the link to b
     *
     * Names are those of the nodes the fabric was built from.
     * \param [out] ports what was selected, each once, in the fabric's order
     * \return what is wrong with the selector, with the nearest valid name; empty if nothing is
     */
    static std::string Select(const RdmaFabric& fabric,
                              const std::string& selector,
                              std::vector<Ptr<RdmaPort>>& ports);

    /// Capture at a port, from now on, into `<folder>/<node>-<port number>.pcap`. \return what went
    /// wrong
    std::string EnablePcap(const std::string& folder, Ptr<RdmaPort> port);
    /// The same for all ports that Select finds; at the first error nothing more is opened.
    std::string EnablePcap(const std::string& folder, const std::string& selector);

    /// \return `<node>-<port number>.pcap`; characters that are no part of a file name are replaced
    /// by "_"
    static std::string GetFileName(const RdmaPort* port);

  private:
    const RdmaFabric& m_fabric;
    uint32_t m_snapLength{UINT32_MAX};
};

} // namespace ns3

#endif /* RDMA_PCAP_HELPER_H */
