/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PCAP_HELPER_H
#define RDMA_PCAP_HELPER_H

#include "rdma-capture-file.h"

#include "ns3/rdma-fabric.h"
#include "ns3/rdma-port.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace ns3
{

class RdmaCaptureSession;

/**
 * \ingroup rdma
 * Captures what ports send and receive in files that Wireshark reads: link type Ethernet, or ERF of
 * an InfiniBand fabric; nanosecond time stamps; pcap, one file a port, or pcapng, one file with an
 * interface per port.
 *
 * What is real in a capture: sizes, opcodes, queue pair numbers, PSNs, AckReq, DMA length,
 * immediate data, AETH (syndrome, MSN), ICRC. What is made up: the payload, byte i of a packet is
 * i mod 256; in the RETH virtual address 0 and key 0; partition key 0xffff.
 *
 * RoCEv2, also real: ECN, priority (DSCP = 8 x priority), UDP source port (the one that ECMP
 * hashes), PFC frames (class-enable vector, quanta). Made up:
 *
 *     IPv4 address  10.x.y.z, the last 24 bits being endpoint number + 1
 *     MAC address   02:00 and the IPv4 address; end to end, as a switched fabric keeps it. PFC
 *                   frames and ordinary packets bear the addresses of the ports.
 *     TTL           64 everywhere (a routed fabric would count down)
 *
 * InfiniBand, also real: LIDs as the subnet manager gave them, SL, the VL of this very link,
 * packet length, FECN where a switch marked the packet, BECN and opcode 0x80 of CN packets, VCRC,
 * and flow-control packets (VL, FCTBS and FCCL as of when they are sent). Each record is an ERF one
 * (rdma::PutErfHeader; types 21 and 25), since Wireshark 4.0 reads no other with InfiniBand in it,
 * and no other link type has flow-control packets. The length of a record is that of the packet
 * from LRH to VCRC, without delimiters, and 16 B of ERF header, which readers take off again; a
 * flow-control packet of 6 B is filled up with zeros to 48. The initial exchange of credits is
 * before the simulation begins, and in no capture. An ordinary packet is a raw one with an
 * EtherType (RWH), from and to the permissive LID, 0xffff.
 *
 * Time stamps: a frame sent, when its first bit starts; a frame received, when it is handed over,
 * that is after its last bit and, in a switch, after the pipeline; in a switch that cuts through
 * its latency after the first bit. Frames dropped for their FCS or CRCs are not captured, nor are
 * frames dropped by a switch missing on its ingress side.
 *
 * In pcapng an interface has the port's name, as its description the directed link out of it
 * ("a->b"), the rate, and the flow filter; every frame says whether the port sent (outbound) or
 * received it.
 *
 * Files are complete after Simulator::Destroy, and valid at any moment (RdmaCaptureFile). Ports
 * that nobody captures pay nothing; settings count for what is enabled after them.
 */
class RdmaPcapHelper
{
  public:
    using Format = RdmaCaptureFile::Format;

    /// Most that waits in memory, per file.
    static constexpr size_t BUFFER_BYTES = RdmaCaptureFile::BUFFER_BYTES;

    /// \param fabric must outlive the simulation
    explicit RdmaPcapHelper(const RdmaFabric& fabric);
    ~RdmaPcapHelper();

    /// Default: PCAP.
    void SetFormat(Format format);

    /// \param bytes kept of each frame at most (the length field of its record has the true
    /// length); default: all. What is cut off is not computed: neither payload nor CRCs. An ERF
    /// header comes on top of it.
    void SetSnapLength(uint32_t bytes);

    /**
     * \param bytes of one file at most; 0, the default: no limit
     * \param files 0: at the limit that file's capture stops, which is said once on standard
     * error; else its capture goes on in the next of a ring of so many files, which begins anew
     * after the last: `<name>.0.pcap`, `<name>.1.pcap` ...
     */
    void SetFileSize(uint64_t bytes, uint32_t files = 0);

    /**
     * Capture these flows only: a list separated by commas of
     *
     *     a->b     what endpoint a asks of b, and b's answers: requests (SEND, WRITE, READ) from a
     *              to b; ACKs, NAKs, READ responses and CNPs from b to a. Of all queue pairs
     *              between them. a and b are hosts, then all their ports are meant, or ports
     *              (host:1).
     *     pfc      PFC frames, which belong to no flow, too; not of an InfiniBand fabric
     *     credits  flow-control packets, likewise; of an InfiniBand fabric only
     *
     * Ordinary packets are no flows: a filter leaves them out.
     * \param flows empty: everything, as without a filter
     * \return what is wrong, with the nearest valid name; empty if nothing is
     */
    std::string SetFlows(const std::string& flows);

    /// \return why no frame of this fabric can be captured, as its sizes are no reader's; else
    /// empty
    std::string CheckFrames() const;

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

    /**
     * If several ranks simulate a fabric, the first one writes the files, which are those of one
     * process. Each of the others only sees what its ports do. All enable the same.
     *
     *     rank 1   a frame -> record -> tell ~~~~ somebody carries it, in the order of time ~~~.
     *     rank 0   a frame -> record -> tell ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+->
     * Take
     *
     * \param first whether this is the rank that writes
     * \param tell called with a record, where NodeWindows::Note tells \return Take, which outlives
     * this
     */
    using Tell = std::function<void(const uint8_t* record, size_t bytes)>;
    std::function<void(const uint8_t* record)> SetRanks(bool first, Tell tell);

    /// Capture at a port, from now on, into `<folder>/<node>-<port number>.pcap`, or as an
    /// interface of `<folder>/capture.pcapng`. \return what went wrong
    std::string EnablePcap(const std::string& folder, Ptr<RdmaPort> port);
    /// The same for all ports that Select finds; at the first error nothing more is opened.
    std::string EnablePcap(const std::string& folder, const std::string& selector);

    /// The same where another rank has some of them: ports by ends of the fabric.
    static std::string SelectEnds(const RdmaFabric& fabric,
                                  const std::string& selector,
                                  std::vector<uint32_t>& ends);

    /// \return `<node>-<port number>.pcap`; characters that are no part of a file name are replaced
    /// by "_"
    static std::string GetFileName(const RdmaPort* port);

  private:
    friend class RdmaCaptureSession;

    /// What is captured.
    struct FlowFilter
    {
        std::unordered_set<uint64_t> flows; //!< keys
        bool linkControl{false};            //!< what links say to each other

        static uint64_t Key(uint32_t from, uint32_t to)
        {
            return static_cast<uint64_t>(from) << 32 | to;
        }
    };

    /// \param flows not empty \return what is wrong, or nothing
    std::string FindFlows(const std::string& flows, FlowFilter& filter) const;
    /// What is enabled from now on. \param filter null: everything
    void Begin(std::unique_ptr<FlowFilter> filter);
    /// \param port null: another rank has it
    std::string Enable(const std::string& folder,
                       const RdmaCaptureFile::Interface& interface,
                       RdmaPort* port);

    const RdmaFabric& m_fabric;
    RdmaCaptureFile::Options m_options;
    std::string m_filter; //!< as given
    Ptr<RdmaCaptureSession> m_session;
    std::map<std::string, Ptr<RdmaCaptureFile>> m_shared; //!< pcapng: by folder

    struct OfRanks;
    std::shared_ptr<OfRanks> m_ranks; //!< null: one rank has the fabric
};

} // namespace ns3

#endif /* RDMA_PCAP_HELPER_H */
