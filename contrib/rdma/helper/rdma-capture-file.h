/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CAPTURE_FILE_H
#define RDMA_CAPTURE_FILE_H

#include "ns3/simple-ref-count.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * A capture on disk, in the byte order of this machine: one file, or a ring of them. Each file is
 * complete in itself.
 *
 *     pcap     one interface a file, nanosecond magic
 *              (https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html)
 *     pcapng   any number of interfaces with their names, nanoseconds, the direction of each frame
 *              (https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html)
 *
 * Records are handed to the system whole, so that a run which is killed leaves valid files: each
 * lacks at most its last BUFFER_BYTES.
 */
class RdmaCaptureFile : public SimpleRefCount<RdmaCaptureFile>
{
  public:
    /// Most that waits in memory, per file.
    static constexpr size_t BUFFER_BYTES = 65536;
    /// The longest frames that readers of captures accept.
    static constexpr uint32_t MAX_SNAP_LENGTH = 262144;

    enum class Format : uint8_t
    {
        PCAP,
        PCAPNG
    };

    /// Values of epb_flags.
    enum class Direction : uint8_t
    {
        INBOUND = 1,
        OUTBOUND = 2
    };

    /// Link types (https://www.tcpdump.org/linktypes.html).
    static constexpr uint32_t LINK_TYPE_ETHERNET = 1;
    static constexpr uint32_t LINK_TYPE_ERF = 197;

    struct Options
    {
        Format format{Format::PCAP};
        uint32_t linkType{LINK_TYPE_ETHERNET};
        uint32_t snapLength{MAX_SNAP_LENGTH};
        uint64_t maxBytes{0}; //!< largest size of one file, headers included; 0: no limit
        uint32_t files{0};    //!< 0: stop at maxBytes; N: go on in the next of a ring of N files
    };

    /// What pcapng says about an interface.
    struct Interface
    {
        std::string name;
        std::string description;
        std::string filter; //!< empty: none
        uint64_t bps{0};
    };

    ~RdmaCaptureFile();

    /**
     * Open `<stem>.pcap` or `<stem>.pcapng`; of a ring `<stem>.<k>.pcap`, k padded with zeros, and
     * remove what an earlier run left of that ring. \return why not, empty if it is open
     */
    std::string Open(const std::string& stem, const Options& options);

    /// Before its first frame; of a pcap file there is one. \param [out] id for Write \return why
    /// not
    std::string AddInterface(const Interface& interface, uint32_t& id);

    /// Frames are still taken. Not after Close, an error (which was reported), or maxBytes.
    bool IsOpen() const
    {
        return m_file;
    }

    uint32_t GetSnapLength() const
    {
        return m_options.snapLength;
    }

    /// \return of the file that is written now
    const std::string& GetPath() const
    {
        return m_path;
    }

    /**
     * \param ps time stamp
     * \param bytes the frame's first bytes, as many as the snap length takes
     * \param length of the whole frame
     * \return false if the file is full and there is no ring: it is closed, the frame is not in it
     */
    bool Write(uint32_t interface,
               Direction direction,
               int64_t ps,
               const uint8_t* bytes,
               uint32_t length);

    void Close();

    /// Complete all files that are open, before the simulator's end does it.
    static void CloseAll();
    /**
     * Who is told that a file is incomplete, instead of standard error.
     * \param callback the file and why ("No space left on device")
     */
    static void SetErrorCallback(
        std::function<void(const std::string& path, const std::string& why)> callback);

  private:
    std::string PathOf(uint32_t index) const;
    /// Create the file of this index and write its header. \return whether it could be done
    bool Begin(uint32_t index);
    void AppendInterface(const Interface& interface);
    void AppendOption(uint16_t code, const void* value, size_t bytes);
    void BeginBlock(uint32_t type);
    void EndBlock();
    void Append(const void* from, size_t bytes);
    /// Give what waits to the system.
    bool Flush();
    void Abandon();
    /// It is closed.
    void Forget();
    void Complain() const;

    Options m_options;
    std::string m_stem;
    std::string m_path;
    std::string m_error; //!< why the last write failed
    RdmaCaptureFile* m_nextOpen{nullptr};
    std::FILE* m_file{nullptr};
    uint32_t m_index{0};
    uint64_t m_flushed{0}; //!< bytes of this file that the system has
    bool m_empty{true};    //!< no frame in this file
    size_t m_block{0};     //!< where the block under way begins in the buffer
    std::vector<Interface> m_interfaces;
    std::vector<uint8_t> m_buffer;
};

} // namespace ns3

#endif /* RDMA_CAPTURE_FILE_H */
