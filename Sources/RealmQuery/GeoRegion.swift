// Regions on a sphere for GEOWITHIN: circles, boxes and polygons, in degrees of longitude and latitude. The edges of a
// polygon are geodesics.

import Glibc
import RealmPages

/// A position in degrees.
package struct GeoPosition: Sendable, Equatable {
  package let longitude: Double
  package let latitude: Double

  package init(longitude: Double, latitude: Double) { (self.longitude, self.latitude) = (longitude, latitude) }

  /// True if the longitude is in -180...180 and the latitude in -90...90.
  var isValid: Bool { abs(longitude) <= 180 && abs(latitude) <= 90 }

  fileprivate var vector: Vector {
    let lambda = longitude * .pi / 180, phi = latitude * .pi / 180
    return Vector(x: cos(phi) * cos(lambda), y: cos(phi) * sin(lambda), z: sin(phi))
  }
}

/// The right side of GEOWITHIN.
package enum GeoShape: Sendable {
  /// The positions at a distance of at most `radius` radians.
  case circle(GeoPosition, radius: Double)
  /// A box with these opposite corners. Its edges are geodesics, too.
  case box(GeoPosition, GeoPosition)
  /// Closed rings: the outer one, then the holes.
  case polygon([[GeoPosition]])
}

/// A direction from the center of the sphere.
private struct Vector: Equatable {
  var x, y, z: Double

  static func - (a: Vector, b: Vector) -> Vector { Vector(x: a.x - b.x, y: a.y - b.y, z: a.z - b.z) }
  static func + (a: Vector, b: Vector) -> Vector { Vector(x: a.x + b.x, y: a.y + b.y, z: a.z + b.z) }

  func dot(_ other: Vector) -> Double { x * other.x + y * other.y + z * other.z }

  func cross(_ other: Vector) -> Vector {
    Vector(x: y * other.z - z * other.y, y: z * other.x - x * other.z, z: x * other.y - y * other.x)
  }

  var squaredLength: Double { dot(self) }

  /// True if `c` is to the left of the geodesic from `a` to `b`, or on it.
  static func isLeft(_ a: Vector, _ b: Vector, _ c: Vector) -> Bool { a.cross(b).dot(c) >= 0 }

  /// Returns true if the shorter geodesics from `a` to `b` and from `c` to `d` cross at an inner point.
  static func cross(_ a: Vector, _ b: Vector, _ c: Vector, _ d: Vector) -> Bool {
    let side = isLeft(a, b, d)
    return side != isLeft(a, b, c) && side != isLeft(c, d, b) && side == isLeft(c, d, a)
  }
}

/// A region on a sphere.
struct GeoRegion: Sendable {
  private enum Form {
    case circle(Vector, squaredChord: Double)
    /// The outer ring and the holes.
    case polygon([Ring])
  }

  private let form: Form

  /// Creates the region of a shape. Throws the reason if the shape is invalid.
  init(_ shape: GeoShape) throws(InputError) {
    switch shape {
    case .circle(let center, let radius):
      try Self.check(center)
      guard radius >= 0 else { throw InputError(.query, "the radius of a circle must be zero or more radians") }
      let half = sin(min(radius, .pi) / 2)
      form = .circle(center.vector, squaredChord: 4 * half * half)
    case .box(let a, let b):
      let corners = [
        a, GeoPosition(longitude: a.longitude, latitude: b.latitude), b,
        GeoPosition(longitude: b.longitude, latitude: a.latitude), a,
      ]
      form = .polygon([try Ring(corners)])
    case .polygon(let rings):
      var made: [Ring] = []
      for points in rings {
        let ring = try Ring(points)
        for other in made where ring.crosses(other) { throw InputError(.query, "two rings of the polygon cross") }
        if let outer = made.first, !outer.contains(ring) {
          throw InputError(.query, "a hole is outside the first ring, which is the outer one")
        }
        for hole in made.dropFirst() where hole.contains(ring) || ring.contains(hole) {
          throw InputError(.query, "a hole is inside another hole")
        }
        made.append(ring)
      }
      form = .polygon(made)
    }
  }

  /// Returns true if the region contains a point. Whether a point exactly on an edge is inside depends on rounding.
  func contains(_ point: GeoPosition) -> Bool {
    guard point.isValid else { return false }
    let vector = point.vector
    switch form {
    case .circle(let center, let squaredChord): return (center - vector).squaredLength <= squaredChord
    case .polygon(let rings): return rings.count { $0.contains(vector) } % 2 == 1
    }
  }

  fileprivate static func check(_ point: GeoPosition) throws(InputError) {
    if !point.isValid {
      throw InputError(
        .query,
        "[\(point.longitude), \(point.latitude)] is not a longitude in -180...180 and a latitude in -90...90"
      )
    }
  }
}

/// A closed line that encloses at most half of the sphere, with the inside to its left.
private struct Ring: Sendable {
  private let vertices: [Vector]
  private var isReferenceInside = false

  /// A fixed point. The edges between it and another point determine whether that point is inside. It is not on the
  /// equator or on a meridian with a round number, where the points of queries often are.
  private static let reference = Vector(x: 0.00457, y: 1, z: 0.0321)

  init(_ points: [GeoPosition]) throws(InputError) {
    for point in points { try GeoRegion.check(point) }
    guard let first = points.first, first == points.last else {
      throw InputError(.query, "a ring ends where it begins: repeat the first point at the end")
    }
    var vertices: [Vector] = []
    for point in points where vertices.last != point.vector { vertices.append(point.vector) }
    vertices.removeLast()
    if vertices.count < 3 { throw InputError(.query, "a ring has at least three different points") }
    for (index, vertex) in vertices.enumerated() where vertices[..<index].contains(vertex) {
      throw InputError(.query, "a ring passes through a point twice")
    }
    // A ring that encloses more than half of the sphere is reversed, so that it encloses the rest.
    self.vertices = Self.turn(vertices) < -1e-14 ? vertices.reversed() : vertices
    for a in self.vertices.indices {
      for b in self.vertices.indices where b > a + 1 && !(a == 0 && b == vertices.count - 1) {
        if Vector.cross(vertex(a), vertex(a + 1), vertex(b), vertex(b + 1)) {
          throw InputError(.query, "two edges of a ring cross")
        }
      }
    }
    // The middle of the first edge has the inside to its left.
    let middle = vertex(0) + vertex(1)
    let isLeft = Vector.isLeft(vertex(0), vertex(1), Self.reference)
    isReferenceInside = isLeft != (crossings(to: middle, from: 1) % 2 == 1)
  }

  private func vertex(_ index: Int) -> Vector { vertices[index % vertices.count] }

  /// Returns the sum of the angles by which a ring turns to the left: 2π less the enclosed area.
  private static func turn(_ vertices: [Vector]) -> Double {
    var sum = 0.0
    for index in vertices.indices {
      let a = vertices[index], b = vertices[(index + 1) % vertices.count], c = vertices[(index + 2) % vertices.count]
      let first = a.cross(b), second = b.cross(c)
      let angle = atan2(first.cross(second).squaredLength.squareRoot(), first.dot(second))
      sum += Vector.isLeft(a, b, c) ? angle : -angle
    }
    return sum
  }

  /// Returns the number of edges, starting with the edge at index `first`, between the reference and a point.
  private func crossings(to point: Vector, from first: Int = 0) -> Int {
    (first..<vertices.count).count { Vector.cross(Self.reference, point, vertex($0), vertex($0 + 1)) }
  }

  func contains(_ point: Vector) -> Bool {
    if let index = vertices.firstIndex(of: point) { return containsVertex(index) }
    return isReferenceInside != (crossings(to: point) % 2 == 1)
  }

  /// Returns true if the ring contains one of its vertices. Of the rings that surround a point, exactly one contains
  /// it: the one whose corner has a fixed direction on its left. The engine uses the same direction.
  private func containsVertex(_ index: Int) -> Bool {
    let here = vertices[index], before = vertex(index + vertices.count - 1), after = vertex(index + 1)
    var other = Vector(x: 0.012, y: 0.0053, z: 0.00457)
    let (x, y, z) = (abs(here.x), abs(here.y), abs(here.z))
    if x > y && x > z { other.z = 1 } else if y > z { other.x = 1 } else { other.y = 1 }
    let fixed = here.cross(other)
    func isLeftOrOn(_ a: Vector, _ b: Vector) -> Bool { a == b || Vector.isLeft(a, here, b) }
    let tests = [
      isLeftOrOn(before, fixed), isLeftOrOn(after, before), fixed != after && Vector.isLeft(fixed, here, after),
    ]
    return tests.count { $0 } >= 2
  }

  /// Returns true if an edge of this ring crosses one of the other.
  func crosses(_ other: Ring) -> Bool {
    vertices.indices.contains { a in
      other.vertices.indices.contains { b in
        let ends = [vertex(a), vertex(a + 1), other.vertex(b), other.vertex(b + 1)]
        return ends[0] != ends[2] && ends[0] != ends[3] && ends[1] != ends[2] && ends[1] != ends[3]
          && Vector.cross(ends[0], ends[1], ends[2], ends[3])
      }
    }
  }

  /// Returns true if a ring that does not cross this one is inside.
  func contains(_ ring: Ring) -> Bool {
    guard let point = ring.vertices.first(where: { !vertices.contains($0) }) else { return false }
    return contains(point)
  }
}
