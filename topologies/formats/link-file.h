/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Topology files that list their links, as HPCC's ns-3 code and its descendants have them:
 *
 *     a first line with counts, ids of switches, then a link each:
 *     <src> <dst> <rate> <delay> <error rate>               "0 320 100Gbps 1000ns 0.000000"
 *
 * As for that code, any white space separates (the ids may run over several lines), a missing final
 * newline is fine. The announced number of links is read, and what follows is ignored, with a note.
 * Everything else is an error with the field "file:line". A rate without a unit is bit/s.
 *
 * Error rate. In that code it is the loss of a *packet*, whatever its size. Links here have
 * independent bit errors: the rate taken is the one at which a packet of 1,048 B (that code's
 * default, 1,000 B payload and 48 B headers) has that loss; a note says so.
 */
#ifndef TOPOLOGIES_FORMATS_LINK_FILE_H
#define TOPOLOGIES_FORMATS_LINK_FILE_H

#include "topologies/family.h"

#include <string>
#include <string_view>
#include <vector>

namespace topo
{

/// A link as the file has it, in its numbers of nodes.
struct FileLink
{
    NodeId a = 0;
    NodeId b = 0;
    rdma::BitRate rate;
    rdma::Duration delay;
    double loss = 0; ///< of a packet, as the file has it
    double bitErrorRate = 0;
    uint32_t line = 0; ///< of the file
};

/// A word of a file; empty at its end.
struct FileWord
{
    std::string_view text;
    uint32_t line = 1;
};

/// The words of a text one after the other, with their lines.
class FileWords
{
  public:
    explicit FileWords(std::string_view text);
    FileWord Next();

  private:
    std::string_view m_text;
    size_t m_at = 0;
    uint32_t m_line = 1;
};

/// The words of the first line that is neither blank nor a remark (#), as far as the first 4 KiB
/// have them; none of a file that cannot be read. For those who only want to know its kind.
std::vector<std::string> FirstWords(const std::string& path);

/// A whole number of digits only, at most `most`.
std::optional<uint64_t> ParseWhole(std::string_view text, uint64_t most);

/// Reads one file; stops at the first error, since one wrong word shifts all that follow.
class LinkFileReader
{
  public:
    LinkFileReader(const std::string& text, const std::string& name);

  protected:
    /// An error at a word: "is not <message>". \return false
    bool Fail(const FileWord& at, const std::string& message);
    /// An error of a line. \return false
    bool FailAt(uint32_t line, const std::string& value, const std::string& problem);
    bool Number(const char* what, uint64_t most, uint64_t& value);
    /// Ids of `count` nodes, none of them twice. \param what "switch" \param isListed a flag for
    /// each node
    bool ReadIds(const char* what, uint64_t count, std::vector<bool>& isListed);
    /// The links, and the end of the file. \param links how many the first line announces
    bool ReadLinks(uint64_t nodes, uint64_t links, std::vector<FileLink>& read);
    /// A note if some of these links lose packets.
    void NoteLosses(const std::vector<const std::vector<FileLink>*>& of);

    FileWords m_words;
    const std::string& m_name;
    TopologyResult m_result;
};

/// Steps from the nearest node of `isHost`, 0 of a host; 0, too, if no link leads to any.
std::vector<uint8_t> TiersFromHosts(const std::vector<bool>& isHost,
                                    const std::vector<FileLink>& links);

} // namespace topo

#endif // TOPOLOGIES_FORMATS_LINK_FILE_H
