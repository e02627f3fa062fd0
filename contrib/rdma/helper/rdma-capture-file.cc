/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-capture-file.h"

#include "contrib/rdma/core/regular-file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>

namespace ns3
{

namespace
{

/// Blocks of pcapng.
enum Block : uint32_t
{
    SECTION_HEADER = 0x0a0d0d0a,
    INTERFACE_DESCRIPTION = 1,
    ENHANCED_PACKET = 6,
};

/// Options of these blocks.
enum BlockOption : uint16_t
{
    SHB_USERAPPL = 4,
    IF_NAME = 2,
    IF_DESCRIPTION = 3,
    IF_SPEED = 8,
    IF_TSRESOL = 9,
    IF_FILTER = 11,
    IF_FCSLEN = 13,
    EPB_FLAGS = 2,
};

constexpr uint8_t NANOSECONDS = 9;

constexpr size_t PCAP_RECORD_HEADER = 16;
/// Block type and length, interface, time, two lengths; epb_flags, end of options; length.
constexpr size_t PCAPNG_RECORD_OVERHEAD = 28 + 8 + 4 + 4;

/// Head of the list of open files.
RdmaCaptureFile* g_open = nullptr;
std::function<void(const std::string&, const std::string&)> g_onError;

/// Tells who wants to know. \return what the caller is told
std::string
CannotWrite(const std::string& path, const std::string& why)
{
    if (g_onError)
    {
        g_onError(path, why);
    }
    return "cannot write " + path + ": " + why;
}

constexpr size_t
Padded(size_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

} // namespace

RdmaCaptureFile::~RdmaCaptureFile()
{
    Close();
}

std::string
RdmaCaptureFile::Open(const std::string& stem, const Options& options)
{
    m_stem = stem;
    m_options = options;
    m_options.snapLength = std::min(options.snapLength, MAX_SNAP_LENGTH);
    m_buffer.reserve(BUFFER_BYTES);
    for (uint32_t k = 0; k < options.files; ++k)
    {
        std::remove(PathOf(k).c_str());
    }
    if (!Begin(0) || !Flush())
    {
        return CannotWrite(m_path, m_error);
    }
    return {};
}

std::string
RdmaCaptureFile::AddInterface(const Interface& interface, uint32_t& id)
{
    id = static_cast<uint32_t>(m_interfaces.size());
    m_interfaces.push_back(interface);
    if (m_options.format == Format::PCAPNG)
    {
        AppendInterface(interface);
    }
    if (m_options.maxBytes && m_flushed + m_buffer.size() > m_options.maxBytes)
    {
        return m_path + ": the size limit of " + std::to_string(m_options.maxBytes) +
               " B is less than the file's header with " + std::to_string(m_interfaces.size()) +
               " interfaces";
    }
    return Flush() ? "" : CannotWrite(m_path, m_error);
}

bool
RdmaCaptureFile::Write(uint32_t interface,
                       Direction direction,
                       int64_t ps,
                       const uint8_t* bytes,
                       uint32_t length)
{
    if (!m_file)
    {
        return true;
    }
    const uint32_t kept = std::min(length, m_options.snapLength);
    const size_t record = m_options.format == Format::PCAP ? PCAP_RECORD_HEADER + kept
                                                           : PCAPNG_RECORD_OVERHEAD + Padded(kept);
    if (m_options.maxBytes && m_flushed + m_buffer.size() + record > m_options.maxBytes)
    {
        if (m_options.files == 0 || m_empty)
        {
            Close();
            return false;
        }
        Close();
        if (!Begin((m_index + 1) % m_options.files))
        {
            Complain();
            return true;
        }
    }
    if (m_buffer.size() + record > BUFFER_BYTES && !Flush())
    {
        Complain();
        Abandon();
        return true;
    }
    m_empty = false;
    if (m_options.format == Format::PCAP)
    {
        const uint32_t header[] = {static_cast<uint32_t>(ps / 1000000000000),
                                   static_cast<uint32_t>(ps % 1000000000000 / 1000),
                                   kept,
                                   length};
        Append(header, sizeof(header));
        Append(bytes, kept);
        return true;
    }
    const auto ns = static_cast<uint64_t>(ps / 1000);
    const uint32_t header[] = {interface,
                               static_cast<uint32_t>(ns >> 32),
                               static_cast<uint32_t>(ns),
                               kept,
                               length};
    BeginBlock(ENHANCED_PACKET);
    Append(header, sizeof(header));
    Append(bytes, kept);
    m_buffer.resize(m_block + Padded(m_buffer.size() - m_block));
    const auto flags = static_cast<uint32_t>(direction);
    AppendOption(EPB_FLAGS, &flags, sizeof(flags));
    AppendOption(0, nullptr, 0);
    EndBlock();
    return true;
}

void
RdmaCaptureFile::Close()
{
    if (!m_file)
    {
        return;
    }
    bool written = Flush();
    if (std::fclose(m_file) != 0 && written)
    {
        m_error = std::strerror(errno);
        written = false;
    }
    Forget();
    if (!written)
    {
        Complain();
    }
}

void
RdmaCaptureFile::CloseAll()
{
    while (g_open)
    {
        g_open->Close();
    }
}

void
RdmaCaptureFile::SetErrorCallback(
    std::function<void(const std::string& path, const std::string& why)> callback)
{
    g_onError = std::move(callback);
}

std::string
RdmaCaptureFile::PathOf(uint32_t index) const
{
    std::string path = m_stem;
    if (m_options.files)
    {
        const std::string k = std::to_string(index);
        const size_t width = std::to_string(m_options.files - 1).size();
        path += "." + std::string(width - k.size(), '0') + k;
    }
    return path + (m_options.format == Format::PCAP ? ".pcap" : ".pcapng");
}

bool
RdmaCaptureFile::Begin(uint32_t index)
{
    m_index = index;
    m_path = PathOf(index);
    m_flushed = 0;
    m_empty = true;
    m_buffer.clear();
    m_file = rdma::OpenForWriting(m_path, &m_error);
    if (!m_file)
    {
        return false;
    }
    m_nextOpen = g_open;
    g_open = this;
    std::setvbuf(m_file, nullptr, _IONBF, 0); // the buffer is ours: stdio cuts records in two
    if (m_options.format == Format::PCAP)
    {
        // Magic of nanosecond files, version 2.4, two reserved fields, snap length, link type.
        const uint32_t header[] =
            {0xa1b23c4d, 4U << 16 | 2, 0, 0, m_options.snapLength, m_options.linkType};
        Append(header, sizeof(header));
        return true;
    }
    BeginBlock(SECTION_HEADER);
    // Byte order, version 1.0, length of the section: not given.
    const uint32_t header[] = {0x1a2b3c4d, 1, UINT32_MAX, UINT32_MAX};
    Append(header, sizeof(header));
    const std::string program = "ns-3 rdma";
    AppendOption(SHB_USERAPPL, program.data(), program.size());
    AppendOption(0, nullptr, 0);
    EndBlock();
    for (const Interface& interface : m_interfaces)
    {
        AppendInterface(interface);
    }
    return true;
}

void
RdmaCaptureFile::AppendInterface(const Interface& interface)
{
    BeginBlock(INTERFACE_DESCRIPTION);
    const uint32_t header[] = {m_options.linkType, m_options.snapLength};
    Append(header, sizeof(header));
    AppendOption(IF_NAME, interface.name.data(), interface.name.size());
    AppendOption(IF_DESCRIPTION, interface.description.data(), interface.description.size());
    AppendOption(IF_SPEED, &interface.bps, sizeof(interface.bps));
    AppendOption(IF_TSRESOL, &NANOSECONDS, 1);
    if (!interface.filter.empty())
    {
        const std::string text = std::string(1, '\0') + interface.filter; // 0: a string follows
        AppendOption(IF_FILTER, text.data(), text.size());
    }
    if (m_options.linkType == LINK_TYPE_ETHERNET)
    {
        const uint8_t fcs = 0;
        AppendOption(IF_FCSLEN, &fcs, 1);
    }
    AppendOption(0, nullptr, 0);
    EndBlock();
}

void
RdmaCaptureFile::AppendOption(uint16_t code, const void* value, size_t bytes)
{
    bytes = std::min<size_t>(bytes, UINT16_MAX);
    const uint16_t header[] = {code, static_cast<uint16_t>(bytes)};
    Append(header, sizeof(header));
    Append(value, bytes);
    m_buffer.resize(m_buffer.size() + Padded(bytes) - bytes);
}

void
RdmaCaptureFile::BeginBlock(uint32_t type)
{
    m_block = m_buffer.size();
    const uint32_t header[] = {type, 0};
    Append(header, sizeof(header));
}

void
RdmaCaptureFile::EndBlock()
{
    const auto length = static_cast<uint32_t>(m_buffer.size() - m_block + sizeof(uint32_t));
    Append(&length, sizeof(length));
    std::memcpy(m_buffer.data() + m_block + sizeof(uint32_t), &length, sizeof(length));
}

void
RdmaCaptureFile::Append(const void* from, size_t bytes)
{
    const auto* at = static_cast<const uint8_t*>(from);
    m_buffer.insert(m_buffer.end(), at, at + bytes);
}

bool
RdmaCaptureFile::Flush()
{
    const bool good = std::fwrite(m_buffer.data(), 1, m_buffer.size(), m_file) == m_buffer.size();
    if (!good)
    {
        m_error = std::strerror(errno);
    }
    m_flushed += m_buffer.size();
    m_buffer.clear();
    return good;
}

void
RdmaCaptureFile::Abandon()
{
    std::fclose(m_file);
    Forget();
}

void
RdmaCaptureFile::Forget()
{
    m_file = nullptr;
    RdmaCaptureFile** link = &g_open;
    while (*link != this)
    {
        link = &(*link)->m_nextOpen;
    }
    *link = m_nextOpen;
}

void
RdmaCaptureFile::Complain() const
{
    if (g_onError)
    {
        g_onError(m_path, m_error);
        return;
    }
    // Not NS_LOG_UNCOND: optimized builds leave it out.
    std::cerr << "rdma: " << m_path << " is incomplete: " << m_error << std::endl;
}

} // namespace ns3
